require_relative 'stormring'

class Echo < Storm::BasicBolt
  def process(tup)
    emit(tup.values)
  end
end

Echo.new.run
